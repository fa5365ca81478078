import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { fileText, isStorable, NOT_STORABLE } from '../../foundation/outside-text.js';

/** The body has at most 1 MiB (`BODY_BYTES_MAX`); fields and files of it may be that long. */
const LIMITS = { fields: 500, files: 2, parts: 502, fieldNameSize: 100 };

function faultOfFields(texts: ReadonlyMap<string, readonly string[]>): string | undefined {
  const faulty = [...texts].find(([, values]) => !values.every(isStorable));
  return faulty && `${faulty[0]}: it ${NOT_STORABLE}`;
}

/** The fields of a form that a browser sent. */
export class Form {
  private constructor(
    private readonly texts: ReadonlyMap<string, readonly string[]>,
    private readonly files: ReadonlyMap<string, string>,
    /** What is wrong with the text of a field or file; undefined: nothing. */
    readonly fault?: string,
    private readonly fileNames: ReadonlyMap<string, string> = new Map(),
  ) {}

  static readonly EMPTY = new Form(new Map(), new Map());

  /** Undefined: the body is no form. */
  static async parse(body: Buffer, contentType: string): Promise<Form | undefined> {
    const texts = new Map<string, string[]>();
    const files = new Map<string, { readonly isChosen: boolean; readonly chunks: Buffer[] }>();
    const fileNames = new Map<string, string>();
    try {
      const limits = { ...LIMITS, fieldSize: body.length, fileSize: body.length };
      const parser = new Busboy({ headers: { 'content-type': contentType }, limits });
      parser.on('field', (name, value) => {
        texts.set(name, [...(texts.get(name) ?? []), value]);
      });
      parser.on('file', (name, stream, fileName) => {
        const chunks: Buffer[] = [];
        files.set(name, { isChosen: Boolean(fileName), chunks });
        fileNames.set(name, fileName);
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        // A truncated file: the parser fails as well, and the file has no other listener.
        stream.on('error', () => undefined);
      });
      await pipeline(Readable.from([body]), parser);
    } catch {
      return undefined;
    }
    if (contentType.startsWith('application/x-www-form-urlencoded') && !isUtf8Encoded(body))
      return new Form(texts, new Map(), 'the form holds text that is not UTF-8');
    const contents = [...files]
      // A field for a file that was left empty sends an empty file without a name.
      .filter(([, { isChosen, chunks }]) => isChosen || chunks.length > 0)
      .map(([name, { chunks }]) => [name, fileText(Buffer.concat(chunks))] as const);
    const read = contents.map(
      ([name, content]) => [name, 'text' in content ? content.text : ''] as const,
    );
    const faulty = contents.flatMap(([name, content]) =>
      'fault' in content ? [`${name}: ${content.fault}`] : [],
    );
    return new Form(texts, new Map(read), faulty[0] ?? faultOfFields(texts), fileNames);
  }

  /** Without white space around it; empty: not filled in. */
  text(name: string): string {
    return (this.texts.get(name)?.[0] ?? '').trim();
  }

  /** All fields of this name: ticked boxes. */
  all(name: string): readonly string[] {
    return this.texts.get(name) ?? [];
  }

  /** The content of a file; undefined: none was chosen. */
  file(name: string): string | undefined {
    return this.files.get(name);
  }

  /** The name of a file, as the browser sent it; empty: none was chosen. */
  fileName(name: string): string {
    return isStorable(this.fileNames.get(name) ?? '') ? (this.fileNames.get(name) ?? '') : '';
  }
}

/** Whether the text of a form is UTF-8, percent-encoded or not; the parser replaces what is not. */
function isUtf8Encoded(body: Buffer): boolean {
  try {
    decodeURIComponent(body.toString('latin1'));
    return isUtf8(body);
  } catch {
    return false;
  }
}
