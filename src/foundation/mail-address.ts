export const MAIL_ADDRESS_CHARACTERS_MAX = 254;

/** One address without quotes, comments and line breaks. */
export const MAIL_ADDRESS =
  /^(?=[^@]{1,64}@)[^\s<>()[\]\\.,;:@"\p{C}]+(?:\.[^\s<>()[\]\\.,;:@"\p{C}]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62}[\p{L}\p{N}])?\.)+(?:\p{L}{2,63}|[Xx][Nn]--[A-Za-z0-9-]{1,59})$/u;

/** Stricter than a user's `email`. */
export const isMailAddress = (text: string): boolean =>
  [...text].length <= MAIL_ADDRESS_CHARACTERS_MAX && MAIL_ADDRESS.test(text);

export const MAIL_DOMAINS_MAX = 100;

export const isMailDomain = (text: string): boolean => isMailAddress(`a@${text}`);

/** The form in which addresses are compared. */
export const sameAddress = (address: string): string => address.trim().toLowerCase();
