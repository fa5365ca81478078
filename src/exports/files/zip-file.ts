import { PassThrough, type Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** The same for every file, so that the same content is the same bytes. */
const EPOCH = new Date(1980, 0, 1);
const READABLE_BY_ALL = 0o100644;

/**
 * A zip file with one entry. It is stored as it is: what is zipped here is compressed.
 * @throws the content's errors.
 */
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
