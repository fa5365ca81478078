import { pipeline, type Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';

/** A form with one file of any size, whose fields come before it. */
export interface UploadForm {
  readonly texts: ReadonlyMap<string, string>;
  /** Read to its end, or destroyed. */
  readonly file: Readable;
}

const LIMITS = { fields: 20, files: 1, fieldSize: 4_096, fieldNameSize: 100, parts: 21 };

/** Undefined: the body is no such form. */
export function uploadFormIn(body: Readable, contentType: string): Promise<UploadForm | undefined> {
  return new Promise((resolve) => {
    const texts = new Map<string, string>();
    const parser = parserOf(contentType);
    if (parser === undefined) {
      body.resume();
      resolve(undefined);
      return;
    }
    let sent: Readable | undefined;
    parser.on('field', (name, value) => texts.set(name, value.trim()));
    parser.on('file', (_name, file) => {
      sent = file;
      resolve({ texts, file });
    });
    pipeline(body, parser, (error) => {
      if (error) sent?.destroy(error);
      resolve(undefined);
    });
  });
}

/** Undefined: the content is of no form. */
function parserOf(contentType: string) {
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS });
  } catch {
    return undefined;
  }
}
