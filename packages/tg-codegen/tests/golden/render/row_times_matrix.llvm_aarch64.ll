target triple = "aarch64-unknown-linux-gnu"
define internal void @row_times_matrix.body(ptr noalias %data0, ptr noalias %data1, ptr noalias %data2, i64 %core_id) #0 {
entry:
  %acc1 = alloca [1 x <8 x float>], align 64
  store <8 x float> zeroinitializer, ptr %acc1, align 4
  br label %loop2
loop2:
  %v3 = phi i32 [ 0, %entry ], [ %next2, %latch2 ]
  %v4 = getelementptr inbounds float, ptr %data1, i32 %v3
  %v5 = load float, ptr %v4, align 4
  %v6 = insertelement <8 x float> poison, float %v5, i32 0
  %v7 = shufflevector <8 x float> %v6, <8 x float> poison, <8 x i32> zeroinitializer
  %v8 = mul nsw i32 %v3, 8
  %v9 = getelementptr inbounds float, ptr %data2, i32 %v8
  %v10 = load <8 x float>, ptr %v9, align 4
  %v11 = load <8 x float>, ptr %acc1, align 4
  %v12 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v7, <8 x float> %v10, <8 x float> %v11)
  store <8 x float> %v12, ptr %acc1, align 4
  br label %latch2
latch2:
  %next2 = add nuw nsw i32 %v3, 1
  %v13 = icmp slt i32 %next2, 16
  br i1 %v13, label %loop2, label %done2, !llvm.loop !2
done2:
  %v14 = load <8 x float>, ptr %acc1, align 4
  store <8 x float> %v14, ptr %data0, align 4
  ret void
}
define void @row_times_matrix(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  %data2.at = getelementptr inbounds i64, ptr %args, i64 2
  %data2 = load ptr, ptr %data2.at, align 8
  call void @row_times_matrix.body(ptr %data0, ptr %data1, ptr %data2, i64 %core_id)
  ret void
}
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="128" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="128" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
