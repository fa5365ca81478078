type Handler = (payload?: Readonly<Record<string, string>>) => Promise<void>;

/** Of every task. @param regular of those that the clock calls, at any moment of a test. */
export const handlersOf = (handler: Handler, regular: Handler = handler) => ({
  'settle-reward': handler,
  'finish-moderation': handler,
  'finish-erasure': handler,
  'repeat-lost-jobs': handler,
  'purge-idempotency-keys': regular,
  'scrub-erased': regular,
  'check-erasures': regular,
  'finish-key-rotation': regular,
  'record-themes': regular,
});
