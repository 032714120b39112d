typedef __INT8_TYPE__ i8;
typedef __UINT8_TYPE__ u8;
typedef __INT16_TYPE__ i16;
typedef __UINT16_TYPE__ u16;
typedef __INT32_TYPE__ i32;
typedef __UINT32_TYPE__ u32;
typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
typedef i32 i32x8 __attribute__((vector_size(32)));
typedef i32 i32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
typedef f32 f32x8 __attribute__((vector_size(32)));
typedef f32 f32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline __attribute__((always_inline))
void gather_body(f32 *restrict data0, i32 *restrict data1, f32 *restrict data2, i64 core_id) {
  for (i32 r1 = 0; r1 < 8; r1++) {
    i32 v2 = r1 * 8;
    i32x8 v3 = (i32x8)*(i32x8_m *)(data1 + v2);
    i32 v4 = v3[0];
    _Bool v5 = v4 < 64;
    _Bool v6 = v4 < 0;
    _Bool v7 = v6 != 1;
    _Bool v8 = v5 & v7;
    f32 v9 = v8 ? *(data2 + v4) : 0x0.0p+0f;
    i32 v10 = v3[1];
    _Bool v11 = v10 < 64;
    _Bool v12 = v10 < 0;
    _Bool v13 = v12 != 1;
    _Bool v14 = v11 & v13;
    f32 v15 = v14 ? *(data2 + v10) : 0x0.0p+0f;
    i32 v16 = v3[2];
    _Bool v17 = v16 < 64;
    _Bool v18 = v16 < 0;
    _Bool v19 = v18 != 1;
    _Bool v20 = v17 & v19;
    f32 v21 = v20 ? *(data2 + v16) : 0x0.0p+0f;
    i32 v22 = v3[3];
    _Bool v23 = v22 < 64;
    _Bool v24 = v22 < 0;
    _Bool v25 = v24 != 1;
    _Bool v26 = v23 & v25;
    f32 v27 = v26 ? *(data2 + v22) : 0x0.0p+0f;
    i32 v28 = v3[4];
    _Bool v29 = v28 < 64;
    _Bool v30 = v28 < 0;
    _Bool v31 = v30 != 1;
    _Bool v32 = v29 & v31;
    f32 v33 = v32 ? *(data2 + v28) : 0x0.0p+0f;
    i32 v34 = v3[5];
    _Bool v35 = v34 < 64;
    _Bool v36 = v34 < 0;
    _Bool v37 = v36 != 1;
    _Bool v38 = v35 & v37;
    f32 v39 = v38 ? *(data2 + v34) : 0x0.0p+0f;
    i32 v40 = v3[6];
    _Bool v41 = v40 < 64;
    _Bool v42 = v40 < 0;
    _Bool v43 = v42 != 1;
    _Bool v44 = v41 & v43;
    f32 v45 = v44 ? *(data2 + v40) : 0x0.0p+0f;
    i32 v46 = v3[7];
    _Bool v47 = v46 < 64;
    _Bool v48 = v46 < 0;
    _Bool v49 = v48 != 1;
    _Bool v50 = v47 & v49;
    f32 v51 = v50 ? *(data2 + v46) : 0x0.0p+0f;
    f32x8 v52 = (f32x8){v9, v15, v21, v27, v33, v39, v45, v51};
    *(f32x8_m *)(data0 + v2) = v52;
  }
}
void gather(const u64 *args, i64 core_id) {
  gather_body((f32 *)args[0], (i32 *)args[1], (f32 *)args[2], core_id);
}
