export function errorBody(statusCode: number, apiErrorCode: string, rsCode: string | null = null) {
  const listsReasons = ['BAD_REQUEST', 'VALIDATION_FAILED', 'MODERATION_NOT_POSSIBLE'].includes(
    apiErrorCode,
  );
  return {
    statusCode,
    apiErrorCode,
    rsCode,
    message: expect.stringMatching(/\S/) as unknown,
    ...(listsReasons ? { validationErrors: expect.any(Array) as unknown } : {}),
  };
}
