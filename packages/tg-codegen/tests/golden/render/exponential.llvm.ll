target triple = "x86_64-unknown-linux-gnu"
define internal void @exponential.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = getelementptr inbounds float, ptr %data0, i32 %v3
  %v5 = getelementptr inbounds float, ptr %data1, i32 %v3
  %v6 = load <8 x float>, ptr %v5, align 4
  %v7 = fcmp olt <8 x float> %v6, splat (float 0xC069000000000000)
  %v8 = select <8 x i1> %v7, <8 x float> splat (float 0xC069000000000000), <8 x float> %v6
  %v9 = fcmp olt <8 x float> splat (float 0x4069000000000000), %v8
  %v10 = select <8 x i1> %v9, <8 x float> splat (float 0x4069000000000000), <8 x float> %v8
  %v11 = fadd <8 x float> %v10, splat (float 0x4168000000000000)
  %v12 = fsub <8 x float> %v11, splat (float 0x4168000000000000)
  %v13 = fsub <8 x float> %v10, %v12
  %v14 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F241FBBA0000000), <8 x float> %v13, <8 x float> splat (float 0x3F55F3E540000000))
  %v15 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v14, <8 x float> %v13, <8 x float> splat (float 0x3F83B2D4C0000000))
  %v16 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v15, <8 x float> %v13, <8 x float> splat (float 0x3FAC6AEE80000000))
  %v17 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v16, <8 x float> %v13, <8 x float> splat (float 0x3FCEBFBDC0000000))
  %v18 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v17, <8 x float> %v13, <8 x float> splat (float 0x3FE62E4300000000))
  %v19 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v18, <8 x float> %v13, <8 x float> splat (float 0x3FF0000000000000))
  %v20 = bitcast <8 x float> %v11 to <8 x i32>
  %v21 = sub <8 x i32> %v20, splat (i32 1262485504)
  %v22 = ashr <8 x i32> %v21, splat (i32 1)
  %v23 = shl <8 x i32> %v22, splat (i32 23)
  %v24 = add <8 x i32> %v23, splat (i32 1065353216)
  %v25 = bitcast <8 x i32> %v24 to <8 x float>
  %v26 = fmul <8 x float> %v19, %v25
  %v27 = sub <8 x i32> %v21, %v22
  %v28 = shl <8 x i32> %v27, splat (i32 23)
  %v29 = add <8 x i32> %v28, splat (i32 1065353216)
  %v30 = bitcast <8 x i32> %v29 to <8 x float>
  %v31 = fsub <8 x float> %v11, splat (float 0x4168000000000000)
  %v32 = fcmp uge <8 x float> %v31, splat (float 0xC062C00000000000)
  %v33 = bitcast <8 x i1> %v32 to i8
  %v34 = call <8 x float> @llvm.x86.avx512.mask.scalef.ps.256(<8 x float> %v19, <8 x float> %v31, <8 x float> zeroinitializer, i8 %v33)
  store <8 x float> %v34, ptr %v4, align 4
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v35 = icmp slt i32 %next1, 8
  br i1 %v35, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @exponential(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @exponential.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.x86.avx512.mask.scalef.ps.256(<8 x float>, <8 x float>, <8 x float>, i8)
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
