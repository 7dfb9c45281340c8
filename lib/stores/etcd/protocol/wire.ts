/** How a field is written: a varint, or bytes after their length. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Bytes that the length of a nested message takes at most: it is not known before the message is written. */
const LENGTH_SIZE = 4;
const FIRST_SIZE = 512;

/** Writes messages of Protocol Buffers. A number is written as an int64, and must be a safe integer that is not negative. */
export class MessageWriter {
  private buffer = Buffer.allocUnsafe(FIRST_SIZE);
  private end = 0;

  /** Leaves out zero, which is what a reader takes for a field that is not there. */
  int(field: number, value: number): this {
    return value === 0 ? this : this.intOrZero(field, value);
  }

  /** Of a field whose presence counts. */
  intOrZero(field: number, value: number): this {
    this.tag(field, VARINT);
    this.varint(value);
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int(field, value ? 1 : 0);
  }

  string(field: number, value: string): this {
    const length = Buffer.byteLength(value);
    this.tag(field, BYTES);
    this.varint(length);
    this.reserve(length);
    this.buffer.write(value, this.end, 'utf8');
    this.end += length;
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.tag(field, BYTES);
    this.varint(value.length);
    this.reserve(value.length);
    this.buffer.set(value, this.end);
    this.end += value.length;
    return this;
  }

  message(field: number, write: (writer: this) => void): this {
    this.tag(field, BYTES);
    this.reserve(LENGTH_SIZE);
    const at = this.end;
    this.end += LENGTH_SIZE;
    write(this);
    // A varint may be longer than it has to be.
    let length = this.end - at - LENGTH_SIZE;
    for (let index = 0; index < LENGTH_SIZE; index++) {
      this.buffer[at + index] = (length & 0x7f) | (index < LENGTH_SIZE - 1 ? 0x80 : 0);
      length >>>= 7;
    }
    return this;
  }

  finish(): Buffer {
    return this.buffer.subarray(0, this.end);
  }

  private tag(field: number, type: number): void {
    this.varint(field * 8 + type);
  }

  private varint(value: number): void {
    this.reserve(10);
    let rest = value;
    while (rest > 0x7f) {
      this.buffer[this.end++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.buffer[this.end++] = rest;
  }

  private reserve(more: number): void {
    const needed = this.end + more;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.buffer.length));
    this.buffer.copy(larger, 0, 0, this.end);
    this.buffer = larger;
  }
}

/** A field of a message that is being read. */
export interface Field {
  readonly number: number;
  /** Of a varint. */
  readonly int: number;
  /** Of all else. */
  readonly bytes: Buffer;
}

const NO_BYTES = Buffer.alloc(0);

/** The fields of a message, in the order in which they were written. Fails for what is cut off. */
export function* fieldsOf(message: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count++) {
      const byte = message[at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * scale;
      // A negative number has all of its 64 bits set from some bit on.
      if (byte < 0x80) return value >= 2 ** 63 ? value - 2 ** 64 : value;
      scale *= 0x80;
    }
    throw new Error('a message of etcd could not be read');
  };
  const take = (length: number): Buffer => {
    const from = at;
    at += length;
    if (at > message.length) throw new Error('a message of etcd is cut off');
    return message.subarray(from, at);
  };
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const type = tag & 7;
    if (type === VARINT) yield { number, int: varint(), bytes: NO_BYTES };
    else if (type === BYTES) yield { number, int: 0, bytes: take(varint()) };
    else if (type === FIXED64) yield { number, int: 0, bytes: take(8) };
    else if (type === FIXED32) yield { number, int: 0, bytes: take(4) };
    else throw new Error(`a message of etcd has a field of the unknown type ${String(type)}`);
  }
}
