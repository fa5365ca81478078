import { type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import {
  admit,
  incomingCall,
  waitFor,
  type Member,
  type NodeState,
  type ServedNode,
} from './node.js';

/** What a node says of its cluster: the members, as it sees them. */
export async function readGossip(
  node: ServedNode,
  call: ServerUnaryCall<shared.Empty, gossip.ClusterInfo>,
  answer: sendUnaryData<gossip.ClusterInfo>,
): Promise<void> {
  const incoming = incomingCall('gossip', call.metadata);
  const admission = admit(node, incoming);
  if (admission.kind === 'dropped') return;
  if (admission.kind === 'refused') return answer(admission.error);
  await waitFor(node.faults.strike('answer-late', incoming));
  answer(null, new gossip.ClusterInfo().setMembersList(node.cluster.members().map(memberInfo)));
}

function memberInfo({ instanceId, state, alive, endpoint }: Member): gossip.MemberInfo {
  return new gossip.MemberInfo()
    .setInstanceId(new shared.UUID().setString(instanceId))
    .setTimeStamp(String(BigInt(Date.now()) * 10_000n))
    .setState(stateNumber(state))
    .setIsAlive(alive)
    .setHttpEndPoint(new gossip.EndPoint().setAddress(endpoint.address).setPort(endpoint.port));
}

function stateNumber(state: NodeState): gossip.MemberInfo.VNodeState {
  const { VNodeState } = gossip.MemberInfo;
  switch (state) {
    case 'leader':
      return VNodeState.LEADER;
    case 'follower':
      return VNodeState.FOLLOWER;
    case 'unknown':
      return VNodeState.UNKNOWN;
    case 'shutdown':
      return VNodeState.SHUTDOWN;
  }
}

const METHODS = [
  { service: 'event_store.client.streams.streams', name: 'read', features: ['position', 'events'] },
  { service: 'event_store.client.streams.streams', name: 'append', features: [] },
  { service: 'event_store.client.gossip.gossip', name: 'read', features: [] },
  {
    service: 'event_store.client.server_features.serverfeatures',
    name: 'getsupportedmethods',
    features: [],
  },
];

export async function supportedMethods(
  node: ServedNode,
  call: ServerUnaryCall<shared.Empty, features.SupportedMethods>,
  answer: sendUnaryData<features.SupportedMethods>,
): Promise<void> {
  const incoming = incomingCall('supportedMethods', call.metadata);
  const admission = admit(node, incoming);
  if (admission.kind === 'dropped') return;
  if (admission.kind === 'refused') return answer(admission.error);
  await waitFor(node.faults.strike('answer-late', incoming));
  const methods = METHODS.map(({ service, name, features: known }) =>
    new features.SupportedMethod()
      .setServiceName(service)
      .setMethodName(name)
      .setFeaturesList(known),
  );
  answer(
    null,
    new features.SupportedMethods().setEventStoreServerVersion('23.10.8').setMethodsList(methods),
  );
}
