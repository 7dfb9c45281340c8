import { MessageBody, SubscribeMessage, WebSocketGateway, type WsResponse } from '@nestjs/websockets';
import { Locked } from 'nestjs-distributed-lock';

interface Booking {
  readonly seat: string;
}

@WebSocketGateway()
export class SeatsGateway {
  @SubscribeMessage('book')
  @Locked({ key: ({ seat }: Booking) => `seat:${seat}`, waitTime: 500 })
  async book(@MessageBody() { seat }: Booking): Promise<WsResponse<Booking>> {
    return { event: 'booked', data: { seat } };
  }
}
