target triple = "x86_64-unknown-linux-gnu"
define internal void @bfloat_square.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = mul nsw i32 %v2, 8
  %v4 = getelementptr inbounds i16, ptr %data0, i32 %v3
  %v5 = getelementptr inbounds i16, ptr %data1, i32 %v3
  %v6 = load <8 x i16>, ptr %v5, align 2
  %v7 = zext <8 x i16> %v6 to <8 x i32>
  %v8 = shl <8 x i32> %v7, splat (i32 16)
  %v9 = bitcast <8 x i32> %v8 to <8 x float>
  %v10 = fmul <8 x float> %v9, %v9
  %v11 = fcmp oeq <8 x float> %v10, %v10
  %v12 = bitcast <8 x float> %v10 to <8 x i32>
  %v13 = lshr <8 x i32> %v12, splat (i32 16)
  %v14 = and <8 x i32> %v13, splat (i32 1)
  %v15 = add <8 x i32> %v14, splat (i32 32767)
  %v16 = add <8 x i32> %v12, %v15
  %v17 = and <8 x i32> %v16, splat (i32 4294901760)
  %v18 = bitcast <8 x i32> %v17 to <8 x float>
  %v19 = select <8 x i1> %v11, <8 x float> %v18, <8 x float> splat (float 0x7FF8000000000000)
  %v20 = bitcast <8 x float> %v19 to <8 x i32>
  %v21 = lshr <8 x i32> %v20, splat (i32 16)
  %v22 = trunc <8 x i32> %v21 to <8 x i16>
  store <8 x i16> %v22, ptr %v4, align 2
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v23 = icmp slt i32 %next1, 8
  br i1 %v23, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @bfloat_square(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @bfloat_square.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!0 = !{!"llvm.loop.unroll.disable"}
!1 = !{!"llvm.loop.vectorize.enable", i1 false}
!2 = distinct !{!2, !0, !1}
