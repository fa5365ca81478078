// Exit code 0 as long as the service in this container answers. Node does it, for the image has no curl.
try {
  const { ok } = await fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/health/live`, {
    signal: AbortSignal.timeout(4_000),
  });
  process.exit(ok ? 0 : 1);
} catch {
  process.exit(1);
}
