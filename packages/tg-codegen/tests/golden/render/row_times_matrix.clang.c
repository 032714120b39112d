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
static inline f32x8 fma_f32x8(f32x8 a, f32x8 b, f32x8 c) { f32x8 r; for (int i = 0; i < 8; i++) r[i] = __builtin_fmaf(a[i], b[i], c[i]); return r; }
static inline __attribute__((always_inline))
void row_times_matrix_body(f32 *restrict data0, f32 *restrict data1, f32 *restrict data2, i64 core_id) {
  f32x8 acc1[1];
  *(acc1 + 0) = splat_f32x8(0x0.0p+0f);
  for (i32 r2 = 0; r2 < 16; r2++) {
    f32 v3 = *(data1 + r2);
    f32x8 v4 = splat_f32x8(v3);
    i32 v5 = r2 * 8;
    f32x8 v6 = (f32x8)*(f32x8_m *)(data2 + v5);
    f32x8 v7 = (f32x8)*(acc1 + 0);
    f32x8 v8 = fma_f32x8(v4, v6, v7);
    *(acc1 + 0) = v8;
  }
  f32x8 v9 = (f32x8)*(acc1 + 0);
  *(f32x8_m *)(data0 + 0) = v9;
}
void row_times_matrix(const u64 *args, i64 core_id) {
  row_times_matrix_body((f32 *)args[0], (f32 *)args[1], (f32 *)args[2], core_id);
}
