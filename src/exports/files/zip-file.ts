import { PassThrough, type Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** The same time in every file, so that equal content gives equal bytes. */
const EPOCH = new Date(1980, 0, 1);
const READABLE_BY_ALL = 0o100644;

/** A zip file with one stored entry: its content is already compressed. @throws its errors. */
export async function* zipFile(name: string, content: Readable): AsyncGenerator<Buffer> {
  const output = new PassThrough();
  const zip = new ZipFile();
  zip.on('error', (error: Error) => output.destroy(error));
  content.on('error', (error) => output.destroy(error));
  zip.outputStream.pipe(output);
  zip.addReadStream(content, name, {
    mtime: EPOCH,
    forceDosTimestamp: true,
    mode: READABLE_BY_ALL,
    compress: false,
  });
  zip.end();
  try {
    for await (const chunk of output as AsyncIterable<Buffer>) yield chunk;
  } finally {
    content.destroy();
  }
}
