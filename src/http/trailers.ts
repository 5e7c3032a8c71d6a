/** An answer that ends with trailers, which `fetch` itself does not give: what carries gRPC does. */
export type Trailed = Response & {
  /** Empty if there are none. It never rejects. */
  readonly trailers: Promise<Headers>
}

export function withTrailers(response: Response, trailers: Promise<Headers>): Trailed {
  return Object.assign(response, { trailers })
}

export async function trailersOf(response: Response): Promise<Headers> {
  return 'trailers' in response ? await (response as Trailed).trailers : new Headers()
}
