const encoder = new TextEncoder()
const initialSize = 1_024

/**
 * Writes the wire format of protobuf (https://protobuf.dev/programming-guides/encoding/), all into one buffer that is
 * used again and again.
 */
export class WireWriter {
  #bytes = new Uint8Array(initialSize)
  #length = 0

  /** Any integer that a number can hold. */
  varint(value: number): void {
    this.#reserve(10)
    if (value < 0) {
      this.#negative(value)
      return
    }
    let rest = value
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes[this.#length++] = (rest % 128) | 128
    this.#bytes[this.#length++] = rest
  }

  double(value: number): void {
    this.#reserve(8)
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true)
    this.#length += 8
  }

  /** With its length. Half a pair of a character becomes the mark of a lost one. */
  text(value: string): void {
    if (value.length <= 40 && this.#isWrittenAsAscii(value)) return
    const mark = this.begin()
    if (value.length > 2 ** 16) this.raw(encoder.encode(value))
    else {
      this.#reserve(value.length * 3)
      this.#length += encoder.encodeInto(value, this.#bytes.subarray(this.#length)).written
    }
    this.end(mark)
  }

  /** With their length. */
  bytes(value: Uint8Array): void {
    this.varint(value.length)
    this.raw(value)
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
  }

  /** Leaves room for the length of what is written from here to `end`. */
  begin(): number {
    this.#reserve(1)
    return this.#length++
  }

  end(mark: number): void {
    const length = this.#length - mark - 1
    if (length <= 127) {
      this.#bytes[mark] = length
      return
    }
    // It takes more than the one byte that was left for it.
    const more = length < 2 ** 14 ? 1 : length < 2 ** 21 ? 2 : length < 2 ** 28 ? 3 : 4
    const end = this.#length + more
    this.#reserve(more)
    this.#bytes.copyWithin(mark + 1 + more, mark + 1, this.#length)
    this.#length = mark
    this.varint(length)
    this.#length = end
  }

  /** All that was written, after so many bytes that are left empty. The writer begins anew. */
  take(head: number): Uint8Array {
    const taken = new Uint8Array(head + this.#length)
    taken.set(this.#bytes.subarray(0, this.#length), head)
    this.reset()
    return taken
  }

  reset(): void {
    this.#length = 0
    // The memory for one giant message is not kept for the small ones.
    if (this.#bytes.length > 2 ** 20) this.#bytes = new Uint8Array(initialSize)
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }

  /** As 64 bits, of whatever type it is. */
  #negative(value: number): void {
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 127n; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 127n) | 128
    this.#bytes[this.#length++] = Number(rest)
  }

  /** Most texts are short ids and words, for which a loop is faster than a call of the encoder. */
  #isWrittenAsAscii(value: string): boolean {
    this.#reserve(1 + value.length)
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at)
      if (code > 127) return false
      this.#bytes[this.#length + 1 + at] = code
    }
    this.#bytes[this.#length] = value.length
    this.#length += 1 + value.length
    return true
  }
}
