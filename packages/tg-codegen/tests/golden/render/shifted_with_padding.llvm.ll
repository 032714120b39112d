target triple = "x86_64-unknown-linux-gnu"
define internal void @shifted_with_padding.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  %zeros8 = alloca float, align 64
  store float zeroinitializer, ptr %zeros8, align 64
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = getelementptr inbounds float, ptr %data0, i32 %v2
  %v4 = sub nsw i32 %v2, 1
  %v5 = icmp slt i32 %v2, 1
  %v6 = icmp ne i1 %v5, true
  %v7 = getelementptr float, ptr %data1, i32 %v4
  %v9 = select i1 %v6, ptr %v7, ptr %zeros8
  %v10 = load float, ptr %v9, align 4
  store float %v10, ptr %v3, align 4
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v11 = icmp slt i32 %next1, 64
  br i1 %v11, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @shifted_with_padding(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @shifted_with_padding.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!2 = distinct !{!2}
