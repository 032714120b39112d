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
void store_on_condition_body(f32 *restrict data0, f32 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 64; r1++) {
    f32 v2 = *(data1 + r1);
    _Bool v3 = v2 < 0x1.0000000000000p-1f;
    if (v3) {
      *(data0 + r1) = v2;
    }
  }
}
void store_on_condition(const u64 *args, i64 core_id) {
  store_on_condition_body((f32 *)args[0], (f32 *)args[1], core_id);
}
