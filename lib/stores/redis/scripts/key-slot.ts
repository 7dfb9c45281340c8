const SLOTS = 16_384;

/** CRC-16/XMODEM, as the Redis Cluster specification prescribes (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/). */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc;
}

/** The part of a name that Redis Cluster hashes instead of the whole name, if it has one. */
export function hashTagOf(name: string): string | undefined {
  const open = name.indexOf('{');
  if (open === -1) return undefined;
  const close = name.indexOf('}', open + 1);
  return close > open + 1 ? name.slice(open + 1, close) : undefined;
}

/** The hash slot of a name, 0 … 16 383. */
export function keySlot(name: string): number {
  return crc16(Buffer.from(hashTagOf(name) ?? name)) % SLOTS;
}

/** For each slot, the smallest number found in it so far; every number below `tried` was looked at. */
const numbers: number[] = [];
let tried = 0;

/** A number whose digits hash to the slot, always the same one. */
export function numberInSlot(slot: number): number {
  for (;;) {
    const known = numbers[slot];
    if (known !== undefined) return known;
    numbers[crc16(Buffer.from(String(tried))) % SLOTS] ??= tried;
    tried += 1;
  }
}
