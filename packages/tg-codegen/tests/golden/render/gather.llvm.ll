target triple = "x86_64-unknown-linux-gnu"
define internal void @gather.body(ptr noalias %data0, ptr noalias %data1, ptr noalias %data2, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = getelementptr inbounds float, ptr %data0, i32 %v3
  %v5 = getelementptr inbounds i32, ptr %data1, i32 %v3
  %v6 = load <8 x i32>, ptr %v5, align 4
  %v7 = icmp slt <8 x i32> %v6, splat (i32 64)
  %v8 = icmp slt <8 x i32> %v6, zeroinitializer
  %v9 = icmp ne <8 x i1> %v8, splat (i1 true)
  %v10 = and <8 x i1> %v7, %v9
  %v11 = getelementptr float, ptr %data2, <8 x i32> %v6
  %v12 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v11, <8 x i1> %v10, <8 x float> zeroinitializer)
  store <8 x float> %v12, ptr %v4, align 4
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v13 = icmp slt i32 %next1, 8
  br i1 %v13, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @gather(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  %data2.at = getelementptr inbounds i64, ptr %args, i64 2
  %data2 = load ptr, ptr %data2.at, align 8
  call void @gather.body(ptr %data0, ptr %data1, ptr %data2, i64 %core_id)
  ret void
}
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
