/** Binary arrays: escaping and parsing text took a third of the time of a batch. */

const OID = { int4: 23, int8: 20, text: 25, uuid: 2950 } as const;
/** Dimensions, null flag, element type, length, lower bound: five integers of four bytes. */
const HEADER_BYTES = 20;

export function textArray(values: readonly string[]): Buffer {
  let bytes = HEADER_BYTES;
  for (const value of values) bytes += 4 + Buffer.byteLength(value);
  const buffer = withHeader(bytes, OID.text, values.length);
  let offset = HEADER_BYTES;
  for (const value of values) {
    const written = buffer.write(value, offset + 4, 'utf8');
    buffer.writeInt32BE(written, offset);
    offset += 4 + written;
  }
  return buffer;
}

/** Dashed or not, in any case. */
export function uuidArray(values: readonly string[]): Buffer {
  const buffer = withHeader(HEADER_BYTES + values.length * 20, OID.uuid, values.length);
  let offset = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(16, offset);
    buffer.write(value.replaceAll('-', ''), offset + 4, 'hex');
    offset += 20;
  }
  return buffer;
}

export function int4Array(values: readonly number[]): Buffer {
  const buffer = withHeader(HEADER_BYTES + values.length * 8, OID.int4, values.length);
  let offset = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(4, offset);
    buffer.writeInt32BE(value, offset + 4);
    offset += 8;
  }
  return buffer;
}

export function int8Array(values: readonly bigint[]): Buffer {
  const buffer = withHeader(HEADER_BYTES + values.length * 12, OID.int8, values.length);
  let offset = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(8, offset);
    buffer.writeBigInt64BE(value, offset + 4);
    offset += 12;
  }
  return buffer;
}

function withHeader(bytes: number, elementType: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(0, 4);
  buffer.writeInt32BE(elementType, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
  return buffer;
}
