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
static inline i32x8 splat_i32x8(i32 a) { return (i32x8){a, a, a, a, a, a, a, a}; }
static inline i32 div_i32(i32 a, i32 b) { return b == 0 ? 0 : b == -1 ? (i32)(0 - (u32)a) : (i32)(a / b); }
static inline i32x8 div_i32_i32x8(i32x8 a, i32x8 b) { i32x8 r; for (int i = 0; i < 8; i++) r[i] = div_i32(a[i], b[i]); return r; }
static inline __attribute__((always_inline))
void divided_by_seven_body(i32 *restrict data0, i32 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 8; r1++) {
    i32 v2 = r1 * 8;
    i32x8 v3 = (i32x8)*(i32x8_m *)(data1 + v2);
    i32x8 v4 = div_i32_i32x8(v3, splat_i32x8(7));
    *(i32x8_m *)(data0 + v2) = v4;
  }
}
void divided_by_seven(const u64 *args, i64 core_id) {
  divided_by_seven_body((i32 *)args[0], (i32 *)args[1], core_id);
}
