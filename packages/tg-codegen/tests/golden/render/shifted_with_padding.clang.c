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
void shifted_with_padding_body(f32 *restrict data0, f32 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 64; r1++) {
    i32 v2 = r1 - 1;
    _Bool v3 = r1 < 1;
    _Bool v4 = v3 != 1;
    f32 v5 = v4 ? *(data1 + v2) : 0x0.0p+0f;
    *(data0 + r1) = v5;
  }
}
void shifted_with_padding(const u64 *args, i64 core_id) {
  shifted_with_padding_body((f32 *)args[0], (f32 *)args[1], core_id);
}
