import { isMailAddress } from '../foundation/mail-address.js';
import type { EmailTheme } from '../themes/theme-instance.js';

/** Of a `From`. */
export interface NamedAddress {
  readonly name: string;
  readonly address: string;
}

/**
 * Sender of the mails of a theme.
 * @param ours the address where the theme has none, or one that was stored under older rules.
 */
export function senderOf(
  { fromName: name, fromAddress }: EmailTheme['configuration'],
  ours: string,
): NamedAddress {
  const isUsable = fromAddress !== undefined && isMailAddress(fromAddress);
  return { name, address: isUsable ? fromAddress : ours };
}

/** The host of the service's public address, which mails name as theirs. */
export const hostOf = (publicUrl: string): string =>
  URL.canParse(publicUrl) ? new URL(publicUrl).hostname : 'localhost';
