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
typedef u32 u32x8 __attribute__((vector_size(32)));
typedef u32 u32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline u32x8 splat_u32x8(u32 a) { return (u32x8){a, a, a, a, a, a, a, a}; }
typedef f32 f32x8 __attribute__((vector_size(32)));
typedef f32 f32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline f32x8 splat_f32x8(f32 a) { return (f32x8){a, a, a, a, a, a, a, a}; }
typedef u16 u16x8 __attribute__((vector_size(16)));
typedef u16 u16x8_m __attribute__((vector_size(16), aligned(2), may_alias));
typedef i8 i8x8 __attribute__((vector_size(8)));
typedef i8 i8x8_m __attribute__((vector_size(8), aligned(1), may_alias));
typedef i32 i32x8 __attribute__((vector_size(32)));
typedef i32 i32x8_m __attribute__((vector_size(32), aligned(4), may_alias));
static inline __attribute__((always_inline))
void bfloat_square_body(u16 *restrict data0, u16 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 8; r1++) {
    i32 v2 = r1 * 8;
    u16x8 v3 = (u16x8)*(u16x8_m *)(data1 + v2);
    u32x8 v4 = __builtin_convertvector(v3, u32x8);
    u32x8 v5 = (u32x8)((u32x8)v4 << (u32x8)splat_u32x8(16U));
    f32x8 v6 = (f32x8)v5;
    f32x8 v7 = v6 * v6;
    i8x8 v8 = __builtin_convertvector((v7 == v7), i8x8);
    u32x8 v9 = (u32x8)v7;
    u32x8 v10 = (u32x8)((u32x8)v9 >> (u32x8)splat_u32x8(16U));
    u32x8 v11 = v10 & splat_u32x8(1U);
    u32x8 v12 = (u32x8)((u32x8)v11 + (u32x8)splat_u32x8(32767U));
    u32x8 v13 = (u32x8)((u32x8)v9 + (u32x8)v12);
    u32x8 v14 = v13 & splat_u32x8(4294901760U);
    f32x8 v15 = (f32x8)v14;
    i32x8 v16 = __builtin_convertvector(v8, i32x8);
    f32x8 v17 = (f32x8)(((i32x8)v15 & v16) | ((i32x8)splat_f32x8(((f32)__builtin_nan(""))) & ~v16));
    u32x8 v18 = (u32x8)v17;
    u32x8 v19 = (u32x8)((u32x8)v18 >> (u32x8)splat_u32x8(16U));
    u16x8 v20 = __builtin_convertvector(v19, u16x8);
    *(u16x8_m *)(data0 + v2) = v20;
  }
}
void bfloat_square(const u64 *args, i64 core_id) {
  bfloat_square_body((u16 *)args[0], (u16 *)args[1], core_id);
}
