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
static inline f32x8 trunc_f32x8(f32x8 a) { f32x8 r; for (int i = 0; i < 8; i++) r[i] = __builtin_truncf(a[i]); return r; }
static inline f32x8 fma_f32x8(f32x8 a, f32x8 b, f32x8 c) { f32x8 r; for (int i = 0; i < 8; i++) r[i] = __builtin_fmaf(a[i], b[i], c[i]); return r; }
typedef i8 i8x8 __attribute__((vector_size(8)));
typedef i8 i8x8_m __attribute__((vector_size(8), aligned(1), may_alias));
typedef i32 i32x8 __attribute__((vector_size(32)));
typedef i32 i32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline __attribute__((always_inline))
void to_int_body(i32 *restrict data0, f32 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 8; r1++) {
    i32 v2 = r1 * 8;
    f32x8 v3 = (f32x8)*(f32x8_m *)(data1 + v2);
    f32x8 v4 = v3 * splat_f32x8(0x1.0000000000000p-32f);
    f32x8 v5 = trunc_f32x8(v4);
    f32x8 v6 = fma_f32x8(v5, splat_f32x8((-0x1.0000000000000p+32f)), v3);
    i8x8 v7 = __builtin_convertvector((v6 < splat_f32x8(0x1.0000000000000p+31f)), i8x8);
    f32x8 v8 = v6 - splat_f32x8(0x1.0000000000000p+32f);
    i32x8 v9 = __builtin_convertvector(v7, i32x8);
    f32x8 v10 = (f32x8)(((i32x8)v6 & v9) | ((i32x8)v8 & ~v9));
    i8x8 v11 = __builtin_convertvector((v10 < splat_f32x8((-0x1.0000000000000p+31f))), i8x8);
    f32x8 v12 = v10 + splat_f32x8(0x1.0000000000000p+32f);
    i32x8 v13 = __builtin_convertvector(v11, i32x8);
    f32x8 v14 = (f32x8)(((i32x8)v12 & v13) | ((i32x8)v10 & ~v13));
    i8x8 v15 = __builtin_convertvector((v14 == v14), i8x8);
    i32x8 v16 = __builtin_convertvector(v15, i32x8);
    f32x8 v17 = (f32x8)(((i32x8)v14 & v16) | ((i32x8)splat_f32x8(0x0.0p+0f) & ~v16));
    i32x8 v18 = __builtin_convertvector(v17, i32x8);
    *(i32x8_m *)(data0 + v2) = v18;
  }
}
void to_int(const u64 *args, i64 core_id) {
  to_int_body((i32 *)args[0], (f32 *)args[1], core_id);
}
