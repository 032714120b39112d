target triple = "x86_64-unknown-linux-gnu"
define internal void @gather.body(ptr noalias %data0, ptr noalias %data1, ptr noalias %data2, i64 %core_id) #0 {
entry:
  %zeros13 = alloca float, align 64
  store float zeroinitializer, ptr %zeros13, align 64
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = getelementptr inbounds float, ptr %data0, i32 %v3
  %v5 = getelementptr inbounds i32, ptr %data1, i32 %v3
  %v6 = load <8 x i32>, ptr %v5, align 4
  %v7 = extractelement <8 x i32> %v6, i32 0
  %v8 = icmp slt i32 %v7, 64
  %v9 = icmp slt i32 %v7, 0
  %v10 = icmp ne i1 %v9, true
  %v11 = and i1 %v8, %v10
  %v12 = getelementptr float, ptr %data2, i32 %v7
  %v14 = select i1 %v11, ptr %v12, ptr %zeros13
  %v15 = load float, ptr %v14, align 4
  %v16 = extractelement <8 x i32> %v6, i32 1
  %v17 = icmp slt i32 %v16, 64
  %v18 = icmp slt i32 %v16, 0
  %v19 = icmp ne i1 %v18, true
  %v20 = and i1 %v17, %v19
  %v21 = getelementptr float, ptr %data2, i32 %v16
  %v22 = select i1 %v20, ptr %v21, ptr %zeros13
  %v23 = load float, ptr %v22, align 4
  %v24 = extractelement <8 x i32> %v6, i32 2
  %v25 = icmp slt i32 %v24, 64
  %v26 = icmp slt i32 %v24, 0
  %v27 = icmp ne i1 %v26, true
  %v28 = and i1 %v25, %v27
  %v29 = getelementptr float, ptr %data2, i32 %v24
  %v30 = select i1 %v28, ptr %v29, ptr %zeros13
  %v31 = load float, ptr %v30, align 4
  %v32 = extractelement <8 x i32> %v6, i32 3
  %v33 = icmp slt i32 %v32, 64
  %v34 = icmp slt i32 %v32, 0
  %v35 = icmp ne i1 %v34, true
  %v36 = and i1 %v33, %v35
  %v37 = getelementptr float, ptr %data2, i32 %v32
  %v38 = select i1 %v36, ptr %v37, ptr %zeros13
  %v39 = load float, ptr %v38, align 4
  %v40 = extractelement <8 x i32> %v6, i32 4
  %v41 = icmp slt i32 %v40, 64
  %v42 = icmp slt i32 %v40, 0
  %v43 = icmp ne i1 %v42, true
  %v44 = and i1 %v41, %v43
  %v45 = getelementptr float, ptr %data2, i32 %v40
  %v46 = select i1 %v44, ptr %v45, ptr %zeros13
  %v47 = load float, ptr %v46, align 4
  %v48 = extractelement <8 x i32> %v6, i32 5
  %v49 = icmp slt i32 %v48, 64
  %v50 = icmp slt i32 %v48, 0
  %v51 = icmp ne i1 %v50, true
  %v52 = and i1 %v49, %v51
  %v53 = getelementptr float, ptr %data2, i32 %v48
  %v54 = select i1 %v52, ptr %v53, ptr %zeros13
  %v55 = load float, ptr %v54, align 4
  %v56 = extractelement <8 x i32> %v6, i32 6
  %v57 = icmp slt i32 %v56, 64
  %v58 = icmp slt i32 %v56, 0
  %v59 = icmp ne i1 %v58, true
  %v60 = and i1 %v57, %v59
  %v61 = getelementptr float, ptr %data2, i32 %v56
  %v62 = select i1 %v60, ptr %v61, ptr %zeros13
  %v63 = load float, ptr %v62, align 4
  %v64 = extractelement <8 x i32> %v6, i32 7
  %v65 = icmp slt i32 %v64, 64
  %v66 = icmp slt i32 %v64, 0
  %v67 = icmp ne i1 %v66, true
  %v68 = and i1 %v65, %v67
  %v69 = getelementptr float, ptr %data2, i32 %v64
  %v70 = select i1 %v68, ptr %v69, ptr %zeros13
  %v71 = load float, ptr %v70, align 4
  %v72 = insertelement <8 x float> poison, float %v15, i32 0
  %v73 = insertelement <8 x float> %v72, float %v23, i32 1
  %v74 = insertelement <8 x float> %v73, float %v31, i32 2
  %v75 = insertelement <8 x float> %v74, float %v39, i32 3
  %v76 = insertelement <8 x float> %v75, float %v47, i32 4
  %v77 = insertelement <8 x float> %v76, float %v55, i32 5
  %v78 = insertelement <8 x float> %v77, float %v63, i32 6
  %v79 = insertelement <8 x float> %v78, float %v71, i32 7
  store <8 x float> %v79, ptr %v4, align 4
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v80 = icmp slt i32 %next1, 8
  br i1 %v80, label %loop1, label %done1, !llvm.loop !2
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
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
