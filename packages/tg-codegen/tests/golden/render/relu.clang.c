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
static inline __attribute__((always_inline))
void relu_body(f32 *restrict data0, f32 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 8; r1++) {
    i32 v2 = r1 * 8;
    f32x8 v3 = (f32x8)*(f32x8_m *)(data1 + v2);
    i32x8 v4 = (i32x8)((v3 < splat_f32x8(0x0.0p+0f)) | (splat_f32x8(0x0.0p+0f) != splat_f32x8(0x0.0p+0f)));
    f32x8 v5 = (f32x8)(((i32x8)splat_f32x8(0x0.0p+0f) & v4) | ((i32x8)v3 & ~v4));
    *(f32x8_m *)(data0 + v2) = v5;
  }
}
void relu(const u64 *args, i64 core_id) {
  relu_body((f32 *)args[0], (f32 *)args[1], core_id);
}
