import type { KnownExport } from '../../domain/export/export.decider.js';

/** Limit of common file systems in UTF-8, with the extension. */
const NAME_BYTES_MAX = 255;
/** Path separators, wildcards, quotes and invisible characters. */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}<>:"/\\|?*%;]+/gu;
/** Windows opens a device for these names, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\.|$)/i;
/** Systems strip these at the end of a name, or hide names that begin with them. */
const EDGES = /^[.\s]+|[.\s]+$/g;

/** The file name of an export, safe on every system. */
export function fileNameOf({ texts, exportType, exportId, format }: KnownExport): string {
  const ending = format === 'CSV' ? '.csv' : '.zip';
  const given = (texts?.name ?? '').normalize('NFC').replace(UNSAFE, '_').replace(EDGES, '');
  const named = DEVICE.test(given) ? `_${given}` : given;
  const name = firstBytes(named, NAME_BYTES_MAX - ending.length).replace(EDGES, '');
  return `${name === '' ? `${exportType.toLowerCase()}-${exportId}` : name}${ending}`;
}

/** As many whole characters with their marks as fit. */
function firstBytes(text: string, bytesMax: number): string {
  let bytes = 0;
  let end = 0;
  for (const { segment, index } of new Intl.Segmenter().segment(text)) {
    bytes += Buffer.byteLength(segment);
    if (bytes > bytesMax) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}

/** RFC 6266: the name, and its ASCII form for older clients. */
export function attachmentNamed(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]/gu, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const plain = `attachment; filename="${ascii}"`;
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encoded}`;
}
