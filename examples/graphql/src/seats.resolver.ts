import { setTimeout } from 'node:timers/promises';
import { Args, Field, ID, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { Locked } from 'nestjs-distributed-lock';

@ObjectType()
class Booking {
  @Field(() => ID)
  seat!: string;

  @Field()
  guest!: string;
}

@Resolver()
export class SeatsResolver {
  private readonly bookings: Booking[] = [];

  @Query(() => [Booking])
  booked(): Booking[] {
    return this.bookings;
  }

  @Mutation(() => Booking)
  @Locked({ key: (seat: string) => `seat:${seat}`, waitTime: 500 })
  async bookSeat(
    @Args('seat', { type: () => ID }) seat: string,
    @Args('guest') guest: string,
  ): Promise<Booking> {
    await setTimeout(2_000);
    const booking = { seat, guest };
    this.bookings.push(booking);
    return booking;
  }
}
