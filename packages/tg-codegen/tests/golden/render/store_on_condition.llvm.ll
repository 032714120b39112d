target triple = "x86_64-unknown-linux-gnu"
define internal void @store_on_condition.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = getelementptr inbounds float, ptr %data1, i32 %v2
  %v4 = load float, ptr %v3, align 4
  %v5 = fcmp olt float %v4, 0x3FE0000000000000
  br i1 %v5, label %then6, label %endif6
then6:
  %v7 = getelementptr inbounds float, ptr %data0, i32 %v2
  store float %v4, ptr %v7, align 4
  br label %endif6
endif6:
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v8 = icmp slt i32 %next1, 64
  br i1 %v8, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @store_on_condition(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @store_on_condition.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!2 = distinct !{!2}
