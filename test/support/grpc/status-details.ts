import type { ServiceError } from '@grpc/grpc-js'

/** What `grpc-status-details-bin` of an error says, as far as it is text: the names of its details among it. */
export function readDetails({ metadata }: ServiceError): string {
  return `${metadata.get('grpc-status-details-bin')[0] ?? ''}`
}
