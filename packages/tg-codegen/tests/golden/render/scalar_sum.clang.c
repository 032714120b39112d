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
static inline __attribute__((always_inline))
void scalar_sum_body(f32 *restrict data0, f32 *restrict data1, i64 core_id) {
  f32 acc1[1];
  *(acc1 + 0) = 0x0.0p+0f;
  for (i32 r2 = 0; r2 < 64; r2++) {
    f32 v3 = *(acc1 + 0);
    f32 v4 = *(data1 + r2);
    f32 v5 = v3 + v4;
    *(acc1 + 0) = v5;
  }
  f32 v6 = *(acc1 + 0);
  *(data0 + 0) = v6;
}
void scalar_sum(const u64 *args, i64 core_id) {
  scalar_sum_body((f32 *)args[0], (f32 *)args[1], core_id);
}
