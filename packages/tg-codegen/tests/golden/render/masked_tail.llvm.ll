target triple = "x86_64-unknown-linux-gnu"
define internal void @masked_tail.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = insertelement <8 x i32> poison, i32 %v3, i32 0
  %v5 = shufflevector <8 x i32> %v4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v6 = add <8 x i32> %v5, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v7 = icmp slt <8 x i32> %v6, splat (i32 61)
  %v8 = getelementptr float, ptr %data0, i32 %v3
  %v9 = getelementptr float, ptr %data1, i32 %v3
  %v10 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %v9, <8 x i1> %v7, <8 x float> zeroinitializer)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v10, ptr align 4 %v8, <8 x i1> %v7)
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v11 = icmp slt i32 %next1, 8
  br i1 %v11, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @masked_tail(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @masked_tail.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
