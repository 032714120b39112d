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
typedef f32 f32x8 __attribute__((vector_size(32)));
typedef f32 f32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline f32x8 splat_f32x8(f32 a) { return (f32x8){a, a, a, a, a, a, a, a}; }
typedef i32 i32x8 __attribute__((vector_size(32)));
typedef i32 i32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline i32x8 splat_i32x8(i32 a) { return (i32x8){a, a, a, a, a, a, a, a}; }
typedef i8 i8x8 __attribute__((vector_size(8)));
typedef i8 i8x8_m __attribute__((vector_size(8), aligned(1), may_alias));
static inline f32x8 fma_f32x8(f32x8 a, f32x8 b, f32x8 c) { f32x8 r; for (int i = 0; i < 8; i++) r[i] = __builtin_fmaf(a[i], b[i], c[i]); return r; }
typedef u32 u32x8 __attribute__((vector_size(32)));
typedef u32 u32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline __attribute__((always_inline))
void exponential_body(f32 *restrict data0, f32 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 8; r1++) {
    i32 v2 = r1 * 8;
    f32x8 v3 = (f32x8)*(f32x8_m *)(data1 + v2);
    i32x8 v4 = (i32x8)((v3 < splat_f32x8((-0x1.9000000000000p+7f))) | (splat_f32x8((-0x1.9000000000000p+7f)) != splat_f32x8((-0x1.9000000000000p+7f))));
    f32x8 v5 = (f32x8)(((i32x8)splat_f32x8((-0x1.9000000000000p+7f)) & v4) | ((i32x8)v3 & ~v4));
    i8x8 v6 = __builtin_convertvector((splat_f32x8(0x1.9000000000000p+7f) < v5), i8x8);
    i32x8 v7 = __builtin_convertvector(v6, i32x8);
    f32x8 v8 = (f32x8)(((i32x8)splat_f32x8(0x1.9000000000000p+7f) & v7) | ((i32x8)v5 & ~v7));
    f32x8 v9 = v8 + splat_f32x8(0x1.8000000000000p+23f);
    f32x8 v10 = v9 - splat_f32x8(0x1.8000000000000p+23f);
    f32x8 v11 = v8 - v10;
    f32x8 v12 = fma_f32x8(splat_f32x8(0x1.41fbba0000000p-13f), v11, splat_f32x8(0x1.5f3e540000000p-10f));
    f32x8 v13 = fma_f32x8(v12, v11, splat_f32x8(0x1.3b2d4c0000000p-7f));
    f32x8 v14 = fma_f32x8(v13, v11, splat_f32x8(0x1.c6aee80000000p-5f));
    f32x8 v15 = fma_f32x8(v14, v11, splat_f32x8(0x1.ebfbdc0000000p-3f));
    f32x8 v16 = fma_f32x8(v15, v11, splat_f32x8(0x1.62e4300000000p-1f));
    f32x8 v17 = fma_f32x8(v16, v11, splat_f32x8(0x1.0000000000000p+0f));
    i32x8 v18 = (i32x8)v9;
    i32x8 v19 = (i32x8)((u32x8)v18 - (u32x8)splat_i32x8(1262485504));
    i32x8 v20 = v19 >> splat_i32x8(1);
    i32x8 v21 = (i32x8)((u32x8)v20 << (u32x8)splat_i32x8(23));
    i32x8 v22 = (i32x8)((u32x8)v21 + (u32x8)splat_i32x8(1065353216));
    f32x8 v23 = (f32x8)v22;
    f32x8 v24 = v17 * v23;
    i32x8 v25 = (i32x8)((u32x8)v19 - (u32x8)v20);
    i32x8 v26 = (i32x8)((u32x8)v25 << (u32x8)splat_i32x8(23));
    i32x8 v27 = (i32x8)((u32x8)v26 + (u32x8)splat_i32x8(1065353216));
    f32x8 v28 = (f32x8)v27;
    f32x8 v29 = v24 * v28;
    *(f32x8_m *)(data0 + v2) = v29;
  }
}
void exponential(const u64 *args, i64 core_id) {
  exponential_body((f32 *)args[0], (f32 *)args[1], core_id);
}
