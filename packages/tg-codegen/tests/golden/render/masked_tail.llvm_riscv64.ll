target triple = "riscv64-unknown-linux-gnu"
define internal void @masked_tail.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  %zeros26 = alloca float, align 64
  store float zeroinitializer, ptr %zeros26, align 64
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = getelementptr inbounds float, ptr %data0, i32 %v3
  %v5 = getelementptr inbounds float, ptr %data1, i32 %v3
  %v6 = load float, ptr %v5, align 4
  store float %v6, ptr %v4, align 4
  %v7 = add nsw i32 %v3, 1
  %v8 = getelementptr inbounds float, ptr %data0, i32 %v7
  %v9 = getelementptr inbounds float, ptr %data1, i32 %v7
  %v10 = load float, ptr %v9, align 4
  store float %v10, ptr %v8, align 4
  %v11 = add nsw i32 %v3, 2
  %v12 = getelementptr inbounds float, ptr %data0, i32 %v11
  %v13 = getelementptr inbounds float, ptr %data1, i32 %v11
  %v14 = load float, ptr %v13, align 4
  store float %v14, ptr %v12, align 4
  %v15 = add nsw i32 %v3, 3
  %v16 = getelementptr inbounds float, ptr %data0, i32 %v15
  %v17 = getelementptr inbounds float, ptr %data1, i32 %v15
  %v18 = load float, ptr %v17, align 4
  store float %v18, ptr %v16, align 4
  %v19 = add nsw i32 %v3, 4
  %v20 = getelementptr inbounds float, ptr %data0, i32 %v19
  %v21 = getelementptr inbounds float, ptr %data1, i32 %v19
  %v22 = load float, ptr %v21, align 4
  store float %v22, ptr %v20, align 4
  %v23 = add nsw i32 %v3, 5
  %v24 = icmp slt i32 %v23, 61
  %v25 = getelementptr float, ptr %data1, i32 %v23
  %v27 = select i1 %v24, ptr %v25, ptr %zeros26
  %v28 = load float, ptr %v27, align 4
  %v29 = add nsw i32 %v3, 6
  %v30 = icmp slt i32 %v29, 61
  %v31 = getelementptr float, ptr %data1, i32 %v29
  %v32 = select i1 %v30, ptr %v31, ptr %zeros26
  %v33 = load float, ptr %v32, align 4
  %v34 = add nsw i32 %v3, 7
  %v35 = icmp slt i32 %v34, 61
  %v36 = getelementptr float, ptr %data1, i32 %v34
  %v37 = select i1 %v35, ptr %v36, ptr %zeros26
  %v38 = load float, ptr %v37, align 4
  br i1 %v24, label %then39, label %endif39
then39:
  %v40 = getelementptr inbounds float, ptr %data0, i32 %v23
  store float %v28, ptr %v40, align 4
  br label %endif39
endif39:
  br i1 %v30, label %then41, label %endif41
then41:
  %v42 = getelementptr inbounds float, ptr %data0, i32 %v29
  store float %v33, ptr %v42, align 4
  br label %endif41
endif41:
  br i1 %v35, label %then43, label %endif43
then43:
  %v44 = getelementptr inbounds float, ptr %data0, i32 %v34
  store float %v38, ptr %v44, align 4
  br label %endif43
endif43:
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v45 = icmp slt i32 %next1, 8
  br i1 %v45, label %loop1, label %done1, !llvm.loop !2
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
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="128" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="128" }
!2 = distinct !{!2}
