import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { TOMBSTONE_REVISION, type StoredEvent } from './stored-event.js';

/**
 * An event as a response of a read, in protobuf. Written by hand, because the generated classes
 * take several times as long, and reading a million events is what some tests do. Field numbers are
 * those of the protocol's ReadResp.
 */
export function encodedEvent(event: StoredEvent): Buffer {
  const stream = Buffer.from(event.stream, 'utf8');
  const type = Buffer.from(event.type, 'utf8');
  // Everything but data, metadata and names takes less than this.
  const out = new BackwardsWriter(
    320 + event.data.length + event.metadata.length + stream.length + type.length,
  );
  const response = out.at;
  out.number(3, event.position);
  const recorded = out.at;
  out.bytes(8, event.data);
  out.bytes(7, event.metadata);
  out.entry(6, CONTENT_TYPE, event.isJson ? JSON_TYPE : BINARY_TYPE);
  // Milliseconds in steps of 100 ns; past 2^53, but digits can be written behind one another.
  out.entry(6, CREATED, Buffer.from(`${event.created}0000`, 'latin1'));
  out.entry(6, TYPE, type);
  out.number(5, event.position);
  out.number(4, event.position);
  if (event.revision === TOMBSTONE_REVISION) out.varint(3, TOMBSTONE_VARINT);
  else out.number(3, event.revision);
  const name = out.at;
  out.bytes(3, stream);
  out.enclose(2, name);
  const id = out.at;
  out.bytes(2, Buffer.from(event.id, 'latin1'));
  out.enclose(1, id);
  out.enclose(1, recorded);
  out.enclose(1, response);
  return out.written();
}

const CONTENT_TYPE = Buffer.from('content-type');
const CREATED = Buffer.from('created');
const TYPE = Buffer.from('type');
const JSON_TYPE = Buffer.from('application/json');
const BINARY_TYPE = Buffer.from('application/octet-stream');
/** 2^63 - 1. */
const TOMBSTONE_VARINT = Buffer.from('ffffffffffffffff7f', 'hex');

const VARINT = 0;
const LENGTH_DELIMITED = 2;

/**
 * Writes a message from its end to its beginning, so that the length of a part is known when it is
 * to be written.
 */
class BackwardsWriter {
  readonly #buffer: Buffer;
  at: number;

  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafe(size);
    this.at = size;
  }

  written(): Buffer {
    return this.#buffer.subarray(this.at);
  }

  number(field: number, value: number): void {
    this.#number(value);
    this.#number(field * 8 + VARINT);
  }

  varint(field: number, encoded: Uint8Array): void {
    this.#raw(encoded);
    this.#number(field * 8 + VARINT);
  }

  bytes(field: number, value: Uint8Array): void {
    const end = this.at;
    this.#raw(value);
    this.enclose(field, end);
  }

  /** Makes all that was written since `end` one field. */
  enclose(field: number, end: number): void {
    this.#number(end - this.at);
    this.#number(field * 8 + LENGTH_DELIMITED);
  }

  /** An entry of a map from text to text. */
  entry(field: number, key: Uint8Array, value: Uint8Array): void {
    const end = this.at;
    this.bytes(2, value);
    this.bytes(1, key);
    this.enclose(field, end);
  }

  #raw(bytes: Uint8Array): void {
    this.at -= bytes.length;
    this.#buffer.set(bytes, this.at);
  }

  #number(value: number): void {
    if (value < 128) {
      this.at -= 1;
      this.#buffer[this.at] = value;
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size += 1;
    this.at -= size;
    let rest = value;
    for (let place = this.at; place < this.at + size - 1; place += 1) {
      this.#buffer[place] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#buffer[this.at + size - 1] = rest;
  }
}

/** What a read is answered with: an event that is encoded already, or any other response. */
export type ReadAnswer = streams.ReadResp | Buffer;

/** The service as generated, but that it takes encoded events, too. */
export const streamsServiceOfAnswers = {
  ...streamsService.StreamsService,
  read: {
    ...streamsService.StreamsService.read,
    responseSerialize: (answer: ReadAnswer): Buffer =>
      answer instanceof streams.ReadResp ? Buffer.from(answer.serializeBinary()) : answer,
  },
};
