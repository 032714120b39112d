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
void staged_reverse_body(f32 *restrict data0, f32 *restrict data1, i64 core_id) {
  f32 local1[8] __attribute__((aligned(64)));
  for (i32 r2 = 0; r2 < 8; r2++) {
    f32 v3 = *(data1 + r2);
    *(local1 + r2) = v3;
  }
  for (i32 r4 = 0; r4 < 8; r4++) {
    i32 v5 = 7 - r4;
    f32 v6 = *(local1 + v5);
    *(data0 + r4) = v6;
  }
}
void staged_reverse(const u64 *args, i64 core_id) {
  staged_reverse_body((f32 *)args[0], (f32 *)args[1], core_id);
}
