import type { KnownExport } from '../../domain/export/export.decider.js';

const LENGTH_MAX = 100;
/** Separators of paths, wildcards, quotes, and what is not seen: controls, marks of direction. */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}<>:"/\\|?*%;]+/gu;

/** The name of the downloaded file, from the export's own: safe on every system. */
export function fileNameOf({ texts, exportType, exportId, format }: KnownExport): string {
  const name = [...(texts?.name ?? '').normalize('NFC')]
    .slice(0, LENGTH_MAX)
    .join('')
    .replace(UNSAFE, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  const base = name === '' ? `${exportType.toLowerCase()}-${exportId}` : name;
  return `${base}.${format === 'CSV' ? 'csv' : 'zip'}`;
}

/** RFC 6266: the name as it is, and in ASCII for clients that know no other. */
export function attachmentNamed(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const plain = `attachment; filename="${ascii}"`;
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encoded}`;
}
