import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';

/** The body has at most 1 MiB (`BODY_BYTES_MAX`); fields and files of it may be that long. */
const LIMITS = { fields: 500, files: 2, parts: 502, fieldNameSize: 100 };

/** The fields of a form that a browser sent. */
export class Form {
  private constructor(
    private readonly texts: ReadonlyMap<string, readonly string[]>,
    private readonly files: ReadonlyMap<string, string>,
  ) {}

  static readonly EMPTY = new Form(new Map(), new Map());

  /** Undefined: the body is no form. */
  static async parse(body: Buffer, contentType: string): Promise<Form | undefined> {
    const texts = new Map<string, string[]>();
    const files = new Map<string, { readonly isChosen: boolean; readonly chunks: Buffer[] }>();
    try {
      const limits = { ...LIMITS, fieldSize: body.length, fileSize: body.length };
      const parser = new Busboy({ headers: { 'content-type': contentType }, limits });
      parser.on('field', (name, value) => {
        // Postgres has no text for NUL.
        texts.set(name, [...(texts.get(name) ?? []), value.replaceAll('\0', '')]);
      });
      parser.on('file', (name, stream, fileName) => {
        const chunks: Buffer[] = [];
        files.set(name, { isChosen: Boolean(fileName), chunks });
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        // A file that is cut off: the parser fails as well, and nobody else listens to the file.
        stream.on('error', () => undefined);
      });
      await pipeline(Readable.from([body]), parser);
    } catch {
      return undefined;
    }
    const contents = [...files]
      // A field for a file that was left empty sends an empty file without a name.
      .filter(([, { isChosen, chunks }]) => isChosen || chunks.length > 0)
      .map(([name, { chunks }]) => [name, Buffer.concat(chunks).toString('utf8')] as const);
    return new Form(texts, new Map(contents));
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
}
