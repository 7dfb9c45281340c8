/** Writes one request in jute, the encoding of ZooKeeper's protocol: big-endian numbers, texts and lists with their length. */
export class JuteWriter {
  private buffer = Buffer.allocUnsafe(256);
  /** After the length of the whole, which is known at the end. */
  private at = 4;

  int(value: number): this {
    this.reserve(4);
    this.at = this.buffer.writeInt32BE(value, this.at);
    return this;
  }

  /** Of a number that JavaScript has exactly. */
  long(value: number): this {
    this.reserve(8);
    this.at = this.buffer.writeBigInt64BE(BigInt(value), this.at);
    return this;
  }

  bool(value: boolean): this {
    this.reserve(1);
    this.at = this.buffer.writeUInt8(value ? 1 : 0, this.at);
    return this;
  }

  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.int(length).reserve(length);
    this.at += this.buffer.write(value, this.at);
    return this;
  }

  bytes(value: Uint8Array): this {
    return this.int(value.length).raw(value);
  }

  /** Without its length. */
  raw(value: Uint8Array): this {
    this.reserve(value.length);
    this.buffer.set(value, this.at);
    this.at += value.length;
    return this;
  }

  /** The whole request as it is sent. */
  frame(): Buffer {
    this.buffer.writeInt32BE(this.at - 4, 0);
    return this.buffer.subarray(0, this.at);
  }

  private reserve(length: number): void {
    if (this.at + length <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + length));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}

/** Reads an answer in jute. Throws a RangeError where it ends too early. */
export class JuteReader {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  int(): number {
    return this.buffer.readInt32BE(this.take(4));
  }

  /** A number that stays below 2^53, such as a zxid of fewer than two million elections. */
  long(): number {
    const at = this.take(8);
    return this.buffer.readInt32BE(at) * 2 ** 32 + this.buffer.readUInt32BE(at + 4);
  }

  /** A number that is only compared. */
  id(): string {
    const at = this.take(8);
    return this.buffer.toString('hex', at, at + 8);
  }

  bool(): boolean {
    return this.buffer.readUInt8(this.take(1)) !== 0;
  }

  text(): string {
    return this.bytes().toString();
  }

  bytes(): Buffer {
    const length = this.length();
    const at = this.take(length);
    return this.buffer.subarray(at, at + length);
  }

  list<T>(read: () => T): T[] {
    const items: T[] = [];
    for (let left = this.length(); left > 0; left--) items.push(read());
    return items;
  }

  /** An empty text or list may be written as -1. */
  private length(): number {
    const length = this.int();
    if (length < -1) throw new RangeError(`a length can't be ${String(length)}`);
    return Math.max(length, 0);
  }

  /** Answers where the next so many bytes begin. */
  private take(length: number): number {
    const { at } = this;
    if (at + length > this.buffer.length) throw new RangeError('it ends too early');
    this.at += length;
    return at;
  }
}
