target triple = "x86_64-unknown-linux-gnu"
define internal void @to_int.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = getelementptr inbounds i32, ptr %data0, i32 %v3
  %v5 = getelementptr inbounds float, ptr %data1, i32 %v3
  %v6 = load <8 x float>, ptr %v5, align 4
  %v7 = fmul <8 x float> %v6, splat (float 0x3DF0000000000000)
  %v8 = call <8 x float> @llvm.trunc.v8f32(<8 x float> %v7)
  %v9 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v8, <8 x float> splat (float 0xC1F0000000000000), <8 x float> %v6)
  %v10 = fcmp olt <8 x float> %v9, splat (float 0x41E0000000000000)
  %v11 = fsub <8 x float> %v9, splat (float 0x41F0000000000000)
  %v12 = select <8 x i1> %v10, <8 x float> %v9, <8 x float> %v11
  %v13 = fcmp olt <8 x float> %v12, splat (float 0xC1E0000000000000)
  %v14 = fadd <8 x float> %v12, splat (float 0x41F0000000000000)
  %v15 = select <8 x i1> %v13, <8 x float> %v14, <8 x float> %v12
  %v16 = fcmp oeq <8 x float> %v15, %v15
  %v17 = select <8 x i1> %v16, <8 x float> %v15, <8 x float> zeroinitializer
  %v18 = fptosi <8 x float> %v17 to <8 x i32>
  store <8 x i32> %v18, ptr %v4, align 4
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v19 = icmp slt i32 %next1, 8
  br i1 %v19, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @to_int(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @to_int.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
declare <8 x float> @llvm.trunc.v8f32(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
