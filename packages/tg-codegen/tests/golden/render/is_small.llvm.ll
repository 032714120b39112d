target triple = "x86_64-unknown-linux-gnu"
define internal void @is_small.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = getelementptr inbounds i8, ptr %data0, i32 %v3
  %v5 = getelementptr inbounds float, ptr %data1, i32 %v3
  %v6 = load <8 x float>, ptr %v5, align 4
  %v7 = fcmp olt <8 x float> %v6, splat (float 0x3FE0000000000000)
  %v8 = zext <8 x i1> %v7 to <8 x i8>
  store <8 x i8> %v8, ptr %v4, align 1
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v9 = icmp slt i32 %next1, 8
  br i1 %v9, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @is_small(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @is_small.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
