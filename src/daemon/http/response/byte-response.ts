// An answer of bytes as they are made. What fails before the first one is an ordinary error; what fails later cuts
// the answer short, which its length tells the client.

/** `end` is called when nobody reads any further, however that came about. */
export async function byteResponse(
  content: AsyncGenerator<Uint8Array>,
  sizeBytes: number,
  end: () => Promise<void> = async () => undefined,
): Promise<Response> {
  const first = await content.next().catch(async (error: unknown) => {
    await end();
    throw error;
  });
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (first.done === true) controller.close();
        else controller.enqueue(first.value);
      },
      async pull(controller) {
        const { done, value } = await content.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await content.return(undefined);
        await end();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(stream, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(sizeBytes),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}
