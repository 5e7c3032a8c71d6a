import type { ServiceError } from '@grpc/grpc-js'

/** The raw `grpc-status-details-bin` of an error as text, which contains the type names of its details. */
export function readDetails({ metadata }: ServiceError): string {
  return `${metadata.get('grpc-status-details-bin')[0] ?? ''}`
}
