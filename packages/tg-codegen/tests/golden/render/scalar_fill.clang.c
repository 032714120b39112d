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
void scalar_fill_body(f32 *restrict data0, i64 core_id) {
  for (i32 r1 = 0; r1 < 64; r1++) {
    *(data0 + r1) = 0x0.0p+0f;
  }
}
void scalar_fill(const u64 *args, i64 core_id) {
  scalar_fill_body((f32 *)args[0], core_id);
}
