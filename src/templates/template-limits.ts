/** Characters of one template. */
export const TEMPLATE_CHARACTERS_MAX = 20_000;
