/** Headers whose values are credentials, whatever a card says. */
export const secretHeaders =
  /^(authorization|proxy-authorization|cookie|set-cookie|.*(api-?key|token|secret|signature).*)$/i

/** Hides parameters that look like credentials, even if the caller did not set them. */
export function hideQuery(url: string): string {
  return url.replace(/([?&](?!page_?token=)[^=&#]*(?:key|token|secret|code|password)[^=&#]*=)[^&#]*/gi, '$1[redacted]')
}
