/**
 * Makes short URLs: on the public URL, or on a link's custom domain with the public URL's scheme.
 *
 * @param publicUrl - Absolute URL under which the service is reached; a slash at its end makes no difference.
 */
export function shortUrlMaker(
  publicUrl: string,
): (code: string, hostname: string | null) => string {
  const base = publicUrl.replace(/\/+$/, '');
  const { protocol } = new URL(base);
  return (code, hostname) =>
    hostname === null ? `${base}/${code}` : `${protocol}//${hostname}/${code}`;
}
