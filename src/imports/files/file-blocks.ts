import { fileText } from '../../foundation/outside-text.js';

/** The file is invalid, with the reason in one line. Nothing of it is imported. */
export class FileFault extends Error {
  override readonly name = 'FileFault';
}

/** A file that can be read repeatedly. */
export type FileBytes = () => AsyncIterable<Buffer>;

/** A block of whole lines. */
export interface Block {
  readonly text: string;
  /** Number of lines before it. */
  readonly before: number;
}

/** Limits a line, and so the memory. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;
const NEW_LINE = 0x0a;

/** The text of a file in blocks. @throws {FileFault} for invalid UTF-8, NUL and longer lines. */
export async function* blocksOf(bytes: FileBytes): AsyncGenerator<Block> {
  let before = 0;
  let rest: Buffer[] = [];
  let held = 0;
  const blockOf = (last: Buffer): Block => {
    const whole = Buffer.concat([...rest, last]);
    const content = fileText(whole, before);
    if ('fault' in content) throw new FileFault(content.fault);
    const block = { text: content.text, before };
    before += linesIn(whole);
    rest = [];
    held = 0;
    return block;
  };
  for await (const piece of bytes()) {
    const end = piece.lastIndexOf(NEW_LINE) + 1;
    if (end > 0) yield blockOf(piece.subarray(0, end));
    rest.push(Buffer.from(piece.subarray(end)));
    held += piece.length - end;
    if (held > LINE_BYTES_MAX)
      throw new FileFault(`line ${before + 1} is longer than ${LINE_BYTES_MAX} bytes`);
  }
  if (held > 0) yield blockOf(Buffer.alloc(0));
}

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, at + 1)) lines += 1;
  return lines;
}
